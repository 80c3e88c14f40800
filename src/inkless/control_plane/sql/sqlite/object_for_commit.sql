SELECT EXISTS (SELECT 1 FROM condemned WHERE key = :key), o.key, o.results
FROM (SELECT 1) LEFT JOIN objects o ON o.object_id = :object_id
