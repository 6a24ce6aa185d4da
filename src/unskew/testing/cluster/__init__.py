"""The cluster test kit: Spark machines and a Kafka broker as processes of this machine."""
