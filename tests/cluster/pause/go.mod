module galen/cluster/pause

go 1.24.0
