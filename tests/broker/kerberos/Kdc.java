import java.io.File;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;

/** A key distribution centre for one realm: `Kdc FOLDER PORT PRINCIPAL…` writes krb5.conf and one keytab a principal. */
public class Kdc {
    public static void main(String[] words) throws Exception {
        File folder = new File(words[0]);
        SimpleKdcServer kdc = new SimpleKdcServer();
        kdc.setWorkDir(folder);
        kdc.setKdcHost("localhost");
        kdc.setKdcRealm("KW.TEST");
        kdc.setAllowUdp(false);
        kdc.setKdcTcpPort(Integer.parseInt(words[1]));
        kdc.init();
        kdc.start();
        for (int at = 2; at < words.length; at++) {
            String principal = words[at] + "@KW.TEST";
            File keytab = new File(folder, words[at].replace('/', '-') + ".keytab");
            kdc.createPrincipal(principal);
            kdc.exportPrincipal(principal, keytab);
        }
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
