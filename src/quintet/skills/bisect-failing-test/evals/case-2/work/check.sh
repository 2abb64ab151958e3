test "$(cat value)" -lt 8
