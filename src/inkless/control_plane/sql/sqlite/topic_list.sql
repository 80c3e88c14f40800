SELECT topic_id, name, partitions, configs FROM topics WHERE deleted_ms IS NULL ORDER BY name
