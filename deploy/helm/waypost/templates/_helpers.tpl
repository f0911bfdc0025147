{{- define "waypost.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* 43 characters: with -redirect they are 52, so that pods of a StatefulSet can be labelled with its revision. */}}
{{- define "waypost.fullname" -}}
{{- $name := include "waypost.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ default $full .Values.fullnameOverride | trunc 43 | trimSuffix "-" }}
{{- end }}

{{- /* The roles that have pods. */}}
{{- define "waypost.roles" -}}
{{ eq .Values.mode "nodes" | ternary "redirect web" "single" }}
{{- end }}

{{- /* Of a role's objects: (list $ role) */}}
{{- define "waypost.roleName" -}}
{{- $role := index . 1 -}}
{{ include "waypost.fullname" (index . 0) }}{{ if ne $role "single" }}-{{ $role }}{{ end }}
{{- end }}

{{- /* These never change, because a StatefulSet cannot: (list $ role), or (list $ "") for all roles. */}}
{{- define "waypost.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "waypost.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- /* Not in a pod's template: a new version of the chart alone restarts nothing. */}}
{{- define "waypost.labels" -}}
{{- $root := index . 0 -}}
{{ include "waypost.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "waypost.secretKeys" -}}
{{ empty .Values.existingSecret.name | ternary (keys .Values.secrets) .Values.existingSecret.keys | sortAlpha | join " " }}
{{- end }}

{{- /* Fails if values that are each correct do not fit together. */}}
{{- define "waypost.check" -}}
{{- $keys := include "waypost.secretKeys" . | splitList " " -}}
{{- if not .Values.baseUrl }}
{{- fail "baseUrl is missing: the URL of API and dashboard, such as https://app.example.com" }}
{{- end }}
{{- if and (hasPrefix "https:" .Values.baseUrl) (not .Values.trustedProxies) }}
{{- fail "trustedProxies is missing: the network of the Ingress controller's pods, such as [10.0.0.0/8]. Without it, Waypost takes every request for plain HTTP and redirects it to https without end" }}
{{- end }}
{{- if and .Values.secrets .Values.existingSecret.name }}
{{- fail "secrets and existingSecret are both set: keep one" }}
{{- end }}
{{- if and (eq .Values.mode "single") (gt (int .Values.single.replicas) 1) }}
{{- fail (printf "single.replicas is %d, but the files of SQLite belong to one pod: set mode=nodes, which needs PostgreSQL" (int .Values.single.replicas)) }}
{{- end }}
{{- if eq .Values.mode "nodes" }}
{{- range tuple "database_url" "secret_key" }}
{{- if not (has . $keys) }}
{{- fail (printf "mode=nodes needs %s in secrets, or an existingSecret with this key" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (has "clickhouse_url" $keys) (not (has "database_url" $keys)) }}
{{- fail "clickhouse_url needs database_url: ClickHouse has the clicks, PostgreSQL everything else" }}
{{- end }}
{{- if ne (empty .Values.ownerEmail) (not (has "owner_password" $keys)) }}
{{- fail "ownerEmail and owner_password in the secrets need each other: set both, or none" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.parentRefs is missing: the Gateways of the routes, such as [{name: public}]" }}
{{- end }}
{{- end }}

{{- /* A host and the role that answers it; no host stands for all others: (list $ customDomains) */}}
{{- define "waypost.routes" -}}
{{- $root := index . 0 -}}
{{- $single := eq $root.Values.mode "single" -}}
{{- $app := (urlParse $root.Values.baseUrl).hostname -}}
{{- $routes := list (dict "name" "app" "host" $app "role" ($single | ternary "single" "web")) -}}
{{- $redirect := $single | ternary "single" "redirect" -}}
{{- $short := $root.Values.sharedDomain | splitList ":" | first -}}
{{- if and $short (ne $short $app) }}
{{- $routes = append $routes (dict "name" "short" "host" $short "role" $redirect) -}}
{{- end }}
{{- if index . 1 }}
{{- $routes = append $routes (dict "name" "custom" "host" "" "role" $redirect) -}}
{{- end }}
{{- toJson $routes }}
{{- end }}

{{- /* What every pod has: (list $ nameOfSecret) */}}
{{- define "waypost.pod" -}}
{{- $values := (index . 0).Values -}}
automountServiceAccountToken: false
# Kubernetes sets variables such as WAYPOST_WEB_PORT for each Service, which are unknown settings.
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with $values.runAsUser }}
  runAsUser: {{ int . }}
  runAsGroup: {{ int . }}
  fsGroup: {{ int . }}
  {{- end }}
  # Not at each start: Kubernetes would open the files to the group.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: tmp
    emptyDir: {}
  {{- if include "waypost.secretKeys" (index . 0) }}
  - name: secrets
    secret:
      secretName: {{ index . 1 }}
      defaultMode: 0440
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* What every container has: (list $ dataDirectory resources) */}}
{{- define "waypost.container" -}}
{{- $root := index . 0 -}}
{{- $values := $root.Values -}}
{{- $hasData := hasPrefix "/data" (index . 1) -}}
image: {{ printf "%s:%s" $values.image.repository (default $root.Chart.AppVersion $values.image.tag) | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
env:
  # Below the mount point: it belongs to root, and the service sets the mode of its directory.
  - name: WAYPOST_DATA_DIR
    value: {{ index . 1 }}
  - name: WAYPOST_BASE_URL
    value: {{ $values.baseUrl | quote }}
  {{- with $values.sharedDomain }}
  - name: WAYPOST_SHARED_DOMAIN
    value: {{ . | quote }}
  {{- end }}
  {{- with $values.trustedProxies }}
  - name: WAYPOST_TRUSTED_PROXIES
    value: {{ join "," . | quote }}
  {{- end }}
  {{- with $values.ownerEmail }}
  - name: WAYPOST_OWNER_EMAIL
    value: {{ . | quote }}
  {{- end }}
  {{- range $name, $value := $values.settings }}
  - name: {{ $name }}
    value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
  {{- end }}
  {{- with include "waypost.secretKeys" $root }}
  {{- range splitList " " . }}
  - name: WAYPOST_{{ upper . }}_FILE
    value: /run/secrets/waypost/{{ . }}
  {{- end }}
  {{- end }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
resources: {{- toYaml (index . 2) | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  {{- if $hasData }}
  - {name: data, mountPath: /data}
  {{- end }}
  - {name: tmp, mountPath: /tmp}
  {{- if include "waypost.secretKeys" $root }}
  - {name: secrets, mountPath: /run/secrets/waypost, readOnly: true}
  {{- end }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
