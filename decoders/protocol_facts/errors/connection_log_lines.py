"""Lines that clients log about names, TLS, logins and connections that fail; rows as known_log_lines.py has them."""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple


class LogLine(NamedTuple):
    """The pattern of a line, a name for its cause, what it is, the remedy, and a command of kw that shows more."""

    pattern: str
    what: str
    detail: str
    remedy: str
    command: str = ""


# A server as clients write it: localhost:9092, localhost/127.0.0.1:9092, ssl://kafka:9093, ipv4#10.0.0.1:9092.
_AT: Final = r"(?:\w+://|ipv[46]#)?(?P<host>[\w.-]+)(?:/[^\s:()]*)?:(?P<port>\d{2,5})"
_ASK: Final = "kw call ApiVersions -b {host}:{port}"
_ASK_ANY: Final = "kw call ApiVersions -b HOST:PORT"
_DOCTOR: Final = "kw doctor -i any --port 9092"
_LIKELY: Final = "likely: "

NAMES_LINES: Final = (
    LogLine(
        r"connection to node -?\d+ \((?P<host>[^\s/:()]+)/<unresolved>:(?P<port>\d+)\)",
        "name",
        "the client cannot resolve the name {host}",
        "make {host} known to the client (DNS, hosts), or let advertised.listeners have a name that clients know",
        "kw call Metadata -b BOOTSTRAP:PORT",
    ),
    LogLine(
        r"couldn't resolve server (?P<host>[\w.-]+):(?P<port>\d+)",
        "name",
        "the client cannot resolve the name {host} of bootstrap.servers",
        "correct the name, or make it known to the client (DNS, hosts)",
    ),
    LogLine(
        r"no resolvable bootstrap urls|failed to (?:parse and )?resolve|unknownhostexception|temporary failure "
        r"in name resolution|"
        r"name or service not known|nodename nor servname|getaddrinfo|gaierror|no such host is known|: no such host|"
        r"\benotfound\b|\beai_again\b|_resolve\b.*host resolution failure|host resolution failure",
        "name",
        "the client cannot resolve the name of a server",
        "correct the name in bootstrap.servers; if it is another one, the broker's advertised.listeners has it: "
        "give it a name "
        "that clients can resolve",
        "kw call Metadata -b BOOTSTRAP:PORT",
    ),
)

TLS_LINES: Final = (
    LogLine(
        r"unsupported or unrecognized ssl message|wrong.version.number|first record does not look like a tls "
        r"handshake|"
        r"packet length too long|not an ssl/tls record|server gave http response to https",
        "TLS",
        "the client speaks TLS, the server does not: it answered in another protocol",
        "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use the server's TLS port",
        _ASK_ANY,
    ),
    LogLine(
        r"tls alert record.*plaintext connection speaking to a tls endpoint",
        "TLS",
        "the server answered with an alert of TLS: the client speaks plaintext",
        "set security.protocol to SSL or SASL_SSL, or use a port without TLS",
        _ASK_ANY,
    ),
    LogLine(
        r"socket disconnected before secure tls connection",
        "TLS",
        _LIKELY + "the port is one without TLS: the server closed when the client began TLS; or it refuses the client",
        "set ssl or security.protocol to what the listener speaks; kw says what that is",
        _ASK_ANY,
    ),
    LogLine(
        r"using tls when the broker is not expecting it|is tls misconfigured",
        "closed",
        _LIKELY + "TLS on one side only, or a listener that wants a login: the broker closed at the first request",
        "compare security.protocol with the listener's; kw says what the port speaks",
        _ASK_ANY,
    ),
    LogLine(
        r"pkix path building failed|unable to find valid certification path|certificate signed by unknown authority|"
        r"self.signed certificate|unable to verify the first certificate|"
        r"unable to get (?:local )?issuer certificate|certificate verify failed|"
        r"broker certificate could not be verified|unknown_ca|unknown certificate authority|"
        r"unable_to_verify_leaf_signature|depth_zero_self_signed",
        "certificate",
        "the certificate of the other side is not signed by an authority that this side trusts",
        "give the authority's certificate: ssl.truststore.location (Java), ssl.ca.location (librdkafka)",
        "kw call ApiVersions -b HOST:PORT -X security.protocol=SSL",
    ),
    LogLine(
        r"no subject alternative (?:names|dns name)|no name matching|hostname.{0,20}mismatch|certificate is "
        r"valid for .*, not |"
        r"doesn't match any of the subject alternative names|ip address mismatch|err_tls_cert_altname_invalid|"
        r"cannot validate certificate for .* because it doesn't contain any ip sans",
        "certificate",
        "the certificate is for other names than the one that the client connects to",
        "connect by a name that is in the certificate, or put the advertised name into it",
        "kw call Metadata -b HOST:PORT -X security.protocol=SSL",
    ),
    LogLine(
        r"certificate (?:has )?expired|certificateexpiredexception|notafter:|certificate is not yet valid|"
        r"cert_has_expired|"
        r"certificatenotyetvalidexception",
        "certificate",
        "a certificate is out of its dates, or a clock is wrong",
        "renew the certificate; compare the clocks of both machines",
    ),
    LogLine(
        r"certificate_required|bad_certificate|empty client certificate chain|peer did not return a certificate|"
        r"tls: certificate required|certificate required|bad certificate",
        "certificate",
        _LIKELY + "the broker wants a certificate of the client (ssl.client.auth), or refuses the one that it got",
        "give the client a key store with a certificate that the broker trusts",
    ),
    LogLine(
        r"no cipher suites in common|no appropriate protocol|protocol_version|unsupported protocol|handshake_failure|"
        r"handshake failure|no shared cipher|protocol is disabled",
        "TLS",
        _LIKELY + "both sides have no TLS version or cipher in common, or the broker wants a client's certificate",
        "compare ssl.enabled.protocols and ssl.cipher.suites of both sides; give a key store where "
        "ssl.client.auth is required",
    ),
    LogLine(
        r"ssl handshake failed|sslhandshakeexception|ssl_handshake|failed authentication with .*\(ssl handshake "
        r"failed\)|"
        r"tls handshake|sslexception|(?<!sasl )handshake failed",
        "TLS",
        "the TLS handshake failed; the words behind it, or the log of the other side, have the cause",
        "look for the cause in the same place: an unknown authority, another host name, a certificate that is "
        "wanted, plaintext",
        "kw sniff -i any --port 9093 -v",
    ),
)

LOGINS_LINES: Final = (
    LogLine(
        r"unexpected kafka request of type (?P<api>\w+) during sasl handshake",
        "login",
        "the client sent {api} to a listener that wants a login first: it speaks no SASL",
        "set security.protocol to SASL_PLAINTEXT or SASL_SSL with a mechanism, or use a listener without SASL",
        _DOCTOR,
    ),
    LogLine(
        r"unexpected handshake request with client mechanism (?P<asked>\S+), enabled mechanisms are "
        r"\[?(?P<enabled>[^\]]*)",
        "login",
        "the broker does not offer the mechanism {asked}; it has {enabled}",
        "set sasl.mechanism to one of the broker's, or add {asked} to its sasl.enabled.mechanisms",
        "kw errors UNSUPPORTED_SASL_MECHANISM",
    ),
    LogLine(
        r"terminated during authentication\. this may happen",
        "login",
        _LIKELY + "a refused login (old brokers close without an answer), a firewall, or TLS on one side only",
        "check user, password and sasl.mechanism; compare security.protocol with the listener's",
        "kw call ApiVersions -b HOST:PORT -F client.properties",
    ),
    LogLine(
        r"invalid username or password|due to invalid credentials|authentication failed: |sasl authentication "
        r"(?:error|failed)|"
        r"saslauthenticationexception|authentication failed during|failed authentication with (?!.*ssl handshake)|"
        r"_authentication\b|authentication failure|kafkajssaslauthenticationerror|invalid credentials with sasl",
        "login",
        "the broker refused the login",
        "check user, password, mechanism and the broker's log; for SCRAM the user must exist in the cluster",
        "kw errors SASL_AUTHENTICATION_FAILED",
    ),
    LogLine(
        r"could not find a 'kafka(?:client|server)' entry in the jaas|no jaas configuration|no loginmodules "
        r"configured|"
        r"unable to find loginmodule|login module control flag|jaas config entry not terminated|"
        r"could not find a 'kafka(?:client|server)' entry",
        "login",
        "the client has no, or no readable, JAAS configuration for SASL",
        "set sasl.jaas.config: a LoginModule, required, its options, and a semicolon at the end",
        "kw help logins",
    ),
    LogLine(
        r"server not found in kerberos database|cannot locate kdc|clock skew too great|krbexception|no valid "
        r"credentials provided|"
        r"unable to obtain (?:password|principal)|ticket expired|gssexception|gss initiate failed|kerberos",
        "Kerberos",
        "the Kerberos login failed before or at the broker; the words of the line say at which step",
        "check sasl.kerberos.service.name, the host name (it is part of the principal), key tab and clocks",
        "kw help logins",
    ),
)

CONNECTIONS_LINES: Final = (
    LogLine(
        rf"connection to node (?P<node>-?\d+) \({_AT}\) could not be established",
        "no connection",
        "nothing took the connection to {host}:{port} (node {node}; a negative one is a bootstrap server)",
        "is the broker running and the port right? If the address is not the one you gave, it is from "
        "advertised.listeners",
        _ASK,
    ),
    LogLine(
        rf"bootstrap broker {_AT} \(id: -?\d+ rack: \S+\) disconnected",
        "closed",
        _LIKELY
        + "the listener of {host}:{port} speaks TLS or wants a login, or the port is no broker's: it closed at once",
        "compare security.protocol with the listener's; kw says what the port speaks",
        _ASK,
    ),
    LogLine(
        rf"connect to {_AT}(?:/\S*)? failed: connection refused|connect: connection refused|"
        r"econnrefused|connection refused|actively refused|failed to connect to broker|errno 111\b|winerror 10061|"
        r"returned error 111\b",
        "no connection",
        "no program listens at the address, or a firewall refuses it",
        "is the broker running, is the port right, is the address from advertised.listeners one that the client "
        "can reach?",
        _ASK_ANY,
    ),
    LogLine(
        r"disconnected while requesting apiversion|connecting to a ssl listener\?|connecting to an? ssl listener",
        "closed",
        _LIKELY + "plaintext to a TLS listener, a listener that wants a login, or a broker before 0.10",
        "set security.protocol to the listener's; for a broker before 0.10: api.version.request=false, "
        "broker.version.fallback",
        _ASK_ANY,
    ),
    LogLine(
        r"unable to request api versions|broker closed the connection immediately after a dial",
        "closed",
        _LIKELY + "TLS on one side only, a listener that wants a login, or no broker at this port",
        "compare security.protocol with the listener's; kw says what the port speaks",
        _ASK_ANY,
    ),
    LogLine(
        r"the configured maximum of \d+ connections|exceeded max connections|max\.connections",
        "connections",
        "the broker refuses connections: it has as many as max.connections or max.connections.per.ip allows",
        "find the client that opens many connections, or raise the limit",
        "kw clients -i any --port 9092",
    ),
    LogLine(
        r"no route to host|network is unreachable|ehostunreach|enetunreach|host is unreachable",
        "no connection",
        "the client's machine has no way to the address",
        "check route and firewall; if the address is not the one you gave, it is from the broker's "
        "advertised.listeners",
        "kw call Metadata -b BOOTSTRAP:PORT",
    ),
    LogLine(
        r"connection setup timed out|timed out during connect|i/o timeout|etimedout|connection timeout|connect "
        r"timed out|"
        r"dial tcp .*timeout|failed to connect within|connection timed out|timed out \(after \d+ms in state connect",
        "no connection",
        _LIKELY + "a firewall drops the packets, or the address (often from advertised.listeners) is not the "
        "client's "
        "network's",
        "check that the client's machine reaches the address; compare it with advertised.listeners",
        _ASK_ANY,
    ),
    LogLine(
        r"connection reset|econnreset|forcibly closed|recv failed|errno 104\b|winerror 10054",
        "closed",
        _LIKELY
        + "the other side aborted the connection: TLS on one side only, a login that is wanted, a restart, a proxy, "
        "or a connection that was idle too long",
        "if it is always the first request, compare security.protocol; if it comes after minutes, "
        "connections.max.idle.ms",
        _DOCTOR,
    ),
    LogLine(
        r"broken pipe|\bepipe\b|use of closed network connection|socket disconnected|closed connection|"
        r"connection (?:to node \S+ )?(?:was )?(?:closed|lost|disconnected)|disconnected \(after \d+ms in state "
        r"(?P<state>\w+)|"
        r"node -?\d+ disconnected|kafka: broker not connected|kafka: broker: not connected|connection.*end of file|"
        r"\beof\b(?! of partition)|unexpected end of stream|kafkajsconnectionclosederror|eofexception|"
        r"cancelled in-flight|disconnectexception|disconnected before the response was read",
        "closed",
        _LIKELY
        + "the other side closed the connection: idle longer than connections.max.idle.ms (harmless, clients connect "
        "again), a restart, or at the first request TLS or a login that is wanted",
        "if it is always the first request, compare security.protocol; else look into the broker's log at that time",
        _DOCTOR,
    ),
    LogLine(
        r"\d+/\d+ brokers are down|all broker connections are down|all_brokers_down|run out of available brokers|"
        r"nobrokersavailable|unable to bootstrap from|no brokers available|kafkajsnobrokeravailable|"
        r"bootstrap brokers? unavailable|failed to bootstrap",
        "no connection",
        "the client has no connection to any broker; the lines before it have the cause for each",
        "look for the first failure: a name, a refused connection, TLS, a login",
        _ASK_ANY,
    ),
    LogLine(
        r"kafkajsconnectionerror|kafkaconnectionerror|connection to broker .* was unsuccessful",
        "no connection",
        _LIKELY + "a wrong address, a broker that is away, or TLS on one side only; the words behind it say more",
        "is the broker running and the port right? Compare security.protocol with the listener's",
        _ASK_ANY,
    ),
)
