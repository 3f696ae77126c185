"""Real Kafka clients of several families, each a child process that takes the same steps and gives their results.

A session is `{"bootstrap", "properties", "steps": [[name, arguments], …]}` in a JSON file that the child reads; a step
writes one JSON line. Every family knows `create`, `produce`, `consume`; the Java and librdkafka ones know many more.
"""
