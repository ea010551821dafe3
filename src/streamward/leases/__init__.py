"""camera → lease → shard: who processes which camera, decided without I/O."""
