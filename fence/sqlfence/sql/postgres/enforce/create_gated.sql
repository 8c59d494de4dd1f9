CREATE OR REPLACE FUNCTION {{.Function}}() RETURNS trigger LANGUAGE plpgsql AS $fencerow$
DECLARE
    reason    text;
    -- What the transaction has passed the gate with, if it has. After it the settings are empty, not NULL.
    resource  text   := NULLIF(current_setting('fencerow.resource', true), '');
    presented bigint := NULLIF(current_setting('fencerow.token', true), '')::bigint;
    owner     text   := NULLIF(current_setting('fencerow.grant', true), '');
    stored    bigint;
    owned     text;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        reason := 'truncate';
    ELSIF resource IS NULL OR split_part(resource, '/', 1) <> {{.GateClass}} OR presented IS NULL THEN
        reason := 'unfenced';
    ELSE
        SELECT fence_token, fence_grant INTO stored, owned FROM fencerow_gate g
         WHERE g.resource = NULLIF(current_setting('fencerow.resource', true), '') FOR SHARE;
        IF stored IS NULL THEN
            reason := 'unfenced';
        ELSIF presented < stored THEN
            reason := 'stale';
        ELSIF presented > stored OR owned IS DISTINCT FROM owner THEN
            reason := 'unfenced';
        END IF;
    END IF;

    IF reason IS NOT NULL THEN
        resource := COALESCE(resource, {{.Literal}});
{{template "violation" .}}
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$fencerow$;
{{template "triggers" .}}
