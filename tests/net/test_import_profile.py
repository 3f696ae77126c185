"""Profiles imported from the files of kafkactl, kaf, rpk and kcl."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.config.connection_profiles import Profiles
from kwcli.net.config.other_cli_configs import parse_clusters_of_other_cli
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world

KAFKACTL = """\
contexts:
  default:
    brokers:
      - localhost:9092
  production:
    brokers: [kafka1:9093, kafka2:9093]
    tls:
      enabled: true
      ca: ca.pem
      cert: /etc/cert.pem
      certKey: /etc/key.pem
      insecure: true
    sasl:
      enabled: true
      username: alice
      password: 0123
      mechanism: scram-sha512
    clientID: ops
    requestTimeout: 1m30s
    kubernetes:
      enabled: true
      namespace: kafka
    schemaRegistry:
      url: localhost:8081
  msk:
    brokers: b-1.c.kafka.eu-west-1.amazonaws.com:9098
    tls: {enabled: true}
    sasl: {enabled: true, mechanism: oauth, tokenprovider: {plugin: aws}}
  idle:
    brokers: x:1
    tls: {enabled: false, ca: ca.pem}
    sasl: {enabled: false, username: me}
current-context: production
"""
KAF = """\
current-cluster: remote
clusteroverride: ""
clusters:
- name: local
  version: ""
  brokers:
  - localhost:9092
  SASL: null
  TLS: null
  security-protocol: ""
  schema-registry-url: ""
- name: remote
  brokers: [kafka1:9093]
  SASL:
    mechanism: SCRAM-SHA-256
    username: alice
    password: "null-ish"
  TLS:
    cafile: ca.pem
    clientfile: ""
    clientkeyfile: ""
    insecure: false
  security-protocol: SASL_SSL
- name: oauth
  brokers: [kafka2:9093]
  SASL: {mechanism: OAUTHBEARER, clientID: kaf, clientSecret: s3cret, tokenURL: "https://idp/token", scopes: [a, b]}
  TLS: {insecure: true}
"""
RPK = """\
version: 7
globals:
  prompt: ""
current_profile: cloud one
profiles:
  - name: cloud one
    description: a cluster
    kafka_api:
      brokers: [seed.example:9092]
      tls: {}
      sasl: {user: alice, password: hunter2, mechanism: SCRAM-SHA-512}
    admin_api:
      addresses: [seed.example:9644]
  - name: local
    kafka_api:
      brokers: ["127.0.0.1:9092"]
      tls: null
  - name: mutual
    kafka_api:
      brokers: [m:1]
      tls: {ca_file: ca.pem, cert_file: /c.pem, key_file: /k.pem, insecure_skip_verify: true}
"""
REDPANDA = """\
redpanda:
  data_directory: /var/lib/redpanda
rpk:
  kafka_api:
    brokers: [127.0.0.1:9092]
    sasl: {user: admin, password: p, type: SCRAM-SHA-256}
  tune_network: false
"""
KCL = """\
seed_brokers = ["localhost:9092", "other:9092"]
timeout_ms = 5000
[tls]
ca_cert_path = "ca.pem"
server_name = "kafka.internal"
min_version = "v1.3"
[sasl]
method = "scram-sha-256"
user = "alice"
pass = "hunter2"
"""
SERVERS, PROTOCOL, MECHANISM = "bootstrap.servers", "security.protocol", "sasl.mechanism"
USER, PASSWORD, CA = "sasl.username", "sasl.password", "ssl.ca.location"


def run(home: Path, *words: str, stdin: str = "") -> Outcome:
    return kw("profile", *words, env=world(stdin.encode(), variables={"XDG_CONFIG_HOME": str(home), "HOME": str(home)}))


@pytest.mark.parametrize(
    ("text", "tool", "current", "clusters"),
    [
        (
            KAFKACTL,
            "kafkactl",
            "production",
            {
                "default": {SERVERS: "localhost:9092", PROTOCOL: "PLAINTEXT"},
                "production": {
                    SERVERS: "kafka1:9093,kafka2:9093",
                    PROTOCOL: "SASL_SSL",
                    CA: "ca.pem",
                    "ssl.certificate.location": "/etc/cert.pem",
                    "ssl.key.location": "/etc/key.pem",
                    "enable.ssl.certificate.verification": "false",
                    MECHANISM: "SCRAM-SHA-512",
                    USER: "alice",
                    PASSWORD: "0123",
                    "client.id": "ops",
                    "default.api.timeout.ms": "90000",
                },
                "msk": {
                    SERVERS: "b-1.c.kafka.eu-west-1.amazonaws.com:9098",
                    PROTOCOL: "SASL_SSL",
                    MECHANISM: "AWS_MSK_IAM",
                },
                "idle": {SERVERS: "x:1", PROTOCOL: "PLAINTEXT"},
            },
        ),
        (
            KAF,
            "kaf",
            "remote",
            {
                "local": {SERVERS: "localhost:9092", PROTOCOL: "PLAINTEXT"},
                "remote": {
                    SERVERS: "kafka1:9093",
                    PROTOCOL: "SASL_SSL",
                    CA: "ca.pem",
                    MECHANISM: "SCRAM-SHA-256",
                    USER: "alice",
                    PASSWORD: "null-ish",
                },
                "oauth": {
                    SERVERS: "kafka2:9093",
                    PROTOCOL: "SASL_SSL",
                    "enable.ssl.certificate.verification": "false",
                    MECHANISM: "OAUTHBEARER",
                    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
                    "sasl.oauthbearer.client.id": "kaf",
                    "sasl.oauthbearer.client.secret": "s3cret",
                    "sasl.oauthbearer.scope": "a b",
                },
            },
        ),
        (
            RPK,
            "rpk",
            "cloud one",
            {
                "cloud one": {
                    SERVERS: "seed.example:9092",
                    PROTOCOL: "SASL_SSL",
                    MECHANISM: "SCRAM-SHA-512",
                    USER: "alice",
                    PASSWORD: "hunter2",
                },
                "local": {SERVERS: "127.0.0.1:9092", PROTOCOL: "PLAINTEXT"},
                "mutual": {
                    SERVERS: "m:1",
                    PROTOCOL: "SSL",
                    CA: "ca.pem",
                    "ssl.certificate.location": "/c.pem",
                    "ssl.key.location": "/k.pem",
                    "enable.ssl.certificate.verification": "false",
                },
            },
        ),
        (
            REDPANDA,
            "rpk",
            "default",
            {
                "default": {
                    SERVERS: "127.0.0.1:9092",
                    PROTOCOL: "SASL_PLAINTEXT",
                    MECHANISM: "SCRAM-SHA-256",
                    USER: "admin",
                    PASSWORD: "p",
                }
            },
        ),
        (
            KCL,
            "kcl",
            "default",
            {
                "default": {
                    SERVERS: "localhost:9092,other:9092",
                    PROTOCOL: "SASL_SSL",
                    CA: "ca.pem",
                    "ssl.enabled.protocols": "TLSv1.3",
                    MECHANISM: "SCRAM-SHA-256",
                    USER: "alice",
                    PASSWORD: "hunter2",
                    "default.api.timeout.ms": "5000",
                }
            },
        ),
        (
            'current_profile = "b"\n[profiles.a]\nseed_brokers = ["a:1"]\n[profiles.b]\nseed_brokers = ["b:1"]\n'
            "[profiles.b.tls]\n",
            "kcl",
            "b",
            {
                "a": {SERVERS: "a:1", PROTOCOL: "PLAINTEXT"},
                "b": {SERVERS: "b:1", PROTOCOL: "SSL"},
            },
        ),
    ],
)
def test_what_each_tool_says(text: str, tool: str, current: str, clusters: dict[str, dict[str, str]]) -> None:
    found = parse_clusters_of_other_cli(text)
    assert {cluster.tool for cluster in found} == {tool}
    assert [cluster.name for cluster in found if cluster.current] == [current]
    assert {cluster.name: dict(cluster.pairs) for cluster in found} == clusters
    for cluster in found:
        if cluster.name != "msk" and "tokenURL" not in str(cluster):
            build_client_config(world(), ConnectionOptions(properties=cluster.pairs))  # no property is refused


@pytest.mark.parametrize(
    "text", ["", "hello", "bootstrap.servers=a:1\n", "bootstrap.servers: a:1\n", "[global]\nx = 1\n", "contexts: 3\n"]
)
def test_other_files_are_none_of_these(text: str) -> None:
    assert parse_clusters_of_other_cli(text) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", ["contexts: [", "clusters:\n\t- a", "profiles: &a [*b]", "contexts: " + "[" * 5000])
def test_broken_ones_are_told(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, "import", "x", "-", stdin=text)
    assert done.code == Exit.USAGE
    assert done.err.startswith("kw: standard input: ")
    assert len(done.err.splitlines()) == 1


def test_the_cluster_in_use_is_meant_unless_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config.yml"
    file.write_text(KAFKACTL)
    (tmp_path / "ca.pem").touch()
    done = run(tmp_path, "import", "prod", str(file), "--use")
    assert done.code == Exit.DONE
    assert "hunter2" not in done.err
    assert done.err.splitlines() == [
        f"kw: the active profile is prod: {tmp_path}/kw/profiles/prod.properties",
        f"kw: warning: {file}, context production: kubernetes is not followed: kw does not run in the cluster; "
        "kubectl port-forward, then --dial-map",
    ]
    config = build_client_config(world(variables={"XDG_CONFIG_HOME": str(tmp_path)}), ConnectionOptions())
    assert config.servers == (("kafka1", 9093), ("kafka2", 9093))
    assert config.tls is not None
    assert config.tls.authorities is not None
    assert config.tls.authorities.path == f"{tmp_path}/ca.pem"  # beside the file with its name
    assert run(tmp_path, "import", "default", str(file)).code == Exit.DONE  # an import with the profile's name
    assert (SERVERS, "localhost:9092") in Profiles(tmp_path / "kw").read_pairs("default")
    assert run(tmp_path, "import", "m", str(file), "--context", "msk").code == Exit.DONE
    assert (MECHANISM, "AWS_MSK_IAM") in Profiles(tmp_path / "kw").read_pairs("m")
    lost = run(tmp_path, "import", "m", str(file), "--context", "mks", "--force")
    assert (lost.code, lost.err) == (Exit.USAGE, f'kw: {file} has no context mks (did you mean "msk"?)\n')


def test_all_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rpk.yaml"
    file.write_text(RPK)
    done = run(tmp_path, "import", str(file), "--use")
    assert done.code == Exit.DONE
    profiles = Profiles(tmp_path / "kw")
    assert (profiles.list_names(), profiles.read_active_name()) == (["cloud-one", "local", "mutual"], "cloud-one")
    again = run(tmp_path, "import", str(file))
    assert (again.code, again.err) == (Exit.USAGE, "kw: there is a profile cloud-one already; --force replaces it\n")


def test_a_file_of_several_with_none_in_use(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KAF.replace("current-cluster: remote", "current-cluster:"))
    done = run(tmp_path, "import", "x", str(file))
    assert done.code == Exit.USAGE
    assert done.err == f"kw: {file} has the clusters local, remote, oauth: choose one by --context local\n"


def test_a_tools_name_stands_for_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lost = run(tmp_path, "import", "kcl")
    assert (lost.code, lost.err) == (
        Exit.USAGE,
        f"kw: kcl has no file at {tmp_path}/.config/kcl/config.toml: name the file\n",
    )
    file = tmp_path / ".config/kcl/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(KCL)
    done = run(tmp_path, "import", "kcl")
    assert done.code == Exit.DONE
    assert "tls.server_name is not followed: kw always sends the host that it dials" in done.err
    assert Profiles(tmp_path / "kw").list_names() == ["default"]
    assert run(tmp_path, "import", "mine", "kcl").code == Exit.DONE


def test_a_file_of_properties_keeps_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    assert run(tmp_path, "import", str(file)).code == Exit.DONE
    assert Profiles(tmp_path / "kw").list_names() == ["client"]
    more = run(tmp_path, "import", "a", str(file), str(file))
    assert more.code == Exit.USAGE
    assert more.err.startswith("kw: give one FILE, and before it the NAME of the profile; see ")
    several = run(tmp_path, "import", "b", str(file), "--context", "x")
    assert several.err == f"kw: {file} has one cluster only: leave --context out\n"


def test_a_mechanism_that_kw_has_not_is_told(tmp_path: Path) -> None:
    text = RPK.replace("SCRAM-SHA-512", "CLOUD-OIDC")
    done = run(tmp_path, "import", "x", "-", stdin=text)
    assert (
        "kw: warning: sasl.mechanism (standard input, profile cloud one) is 'CLOUD-OIDC': kw knows PLAIN, " in done.err
    )
