SELECT object_id, committed_ms FROM objects
WHERE object_id > :after AND results IS NOT NULL
ORDER BY object_id
LIMIT :limit
