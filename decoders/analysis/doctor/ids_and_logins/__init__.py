"""Members of groups, transactional producers, logins: who uses a name, who fences whom, who changed it."""
