"""The sources that palmette brings; each is registered as an entry point of the group `palmette.knowledge_sources`."""
