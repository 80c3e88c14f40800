SELECT topic_id, name, partitions, configs FROM topics WHERE name = ? AND deleted_ms IS NULL
