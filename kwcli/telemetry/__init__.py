"""What traffic adds up to, told to those who keep such: Prometheus, OpenTelemetry."""
