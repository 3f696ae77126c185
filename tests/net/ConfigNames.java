import java.util.TreeSet;

/** Every property that the Java client of a release knows, one a line. */
public class ConfigNames {
    public static void main(String[] arguments) {
        TreeSet<String> names = new TreeSet<>();
        names.addAll(org.apache.kafka.clients.consumer.ConsumerConfig.configNames());
        names.addAll(org.apache.kafka.clients.producer.ProducerConfig.configNames());
        names.addAll(org.apache.kafka.clients.admin.AdminClientConfig.configNames());
        names.forEach(System.out::println);
    }
}
