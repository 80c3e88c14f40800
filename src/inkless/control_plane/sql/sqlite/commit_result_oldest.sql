SELECT committed_ms FROM commit_results ORDER BY result_id LIMIT 1
