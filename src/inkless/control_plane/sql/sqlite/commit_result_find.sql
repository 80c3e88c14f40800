SELECT results FROM commit_results WHERE key = ?
