"""One connection to a broker, sans I/O, from ApiVersions and login to requests; blocking and asyncio drivers."""
