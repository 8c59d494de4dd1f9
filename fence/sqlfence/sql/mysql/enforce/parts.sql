{{define "report"}}
{{- if .LogOnly}}        INSERT INTO fencerow_violation (relation, operation, reason, resource, presented, stored, who)
        VALUES ({{.Literal}}, fencerow_operation, fencerow_reason, fencerow_resource, fencerow_presented, fencerow_stored, USER());
{{- else}}        SET fencerow_text = LEFT(CASE fencerow_reason
            WHEN 'stale' THEN CONCAT('fencerow: stale write to ', fencerow_resource, ': token ', fencerow_presented, ' is below ', fencerow_stored)
            WHEN 'delete' THEN CONCAT('fencerow: delete of ', fencerow_resource, ': its mark was not kept before')
            ELSE CONCAT('fencerow: unfenced write to ', fencerow_resource, ': it moves no token forward') END, 128);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = fencerow_text;
{{- end}}
{{- end}}
{{define "declare"}}    DECLARE fencerow_reason VARCHAR(16) DEFAULT NULL;
    DECLARE fencerow_resource VARCHAR(1024) CHARACTER SET utf8mb4;
    DECLARE fencerow_presented, fencerow_stored, fencerow_step BIGINT DEFAULT NULL;
    DECLARE fencerow_text VARCHAR(128) CHARACTER SET utf8mb4;
{{- end}}
