#!/usr/bin/env bash

# Copyright (c) 2021-@{date.year}@ community-scripts ORG
# Author: @{maintainer}@
# License: MIT | https://github.com/community-scripts/ProxmoxVE/raw/main/LICENSE
# Source: @{website}@ | Github: @{source}@

source /dev/stdin <<<"$FUNCTIONS_FILE_PATH"
color
verb_ip6
catch_errors
setting_up_container
network_check
update_os

fetch_and_deploy_gh_release "@{id}@" "waypost/waypost" "binary" "latest" "/opt/waypost" "waypost_*deb13_$(dpkg --print-architecture).deb"
import_local_ip

msg_info "Configuring @{name}@"
cat <<EOF >/etc/waypost/waypost.env
@{field.base_url.name}@=http://${LOCAL_IP}:@{port}@
WAYPOST_SIGNUP=invite
EOF
mkdir -p /etc/systemd/system/waypost.service.d
cat <<EOF >/etc/systemd/system/waypost.service.d/host.conf
[Service]
ExecStart=
ExecStart=/usr/lib/waypost/bin/waypost serve --host 0.0.0.0 --port @{port}@
EOF
msg_ok "Configured @{name}@"

msg_info "Starting Service"
systemctl daemon-reload
systemctl enable -q waypost
systemctl restart waypost
msg_ok "Started Service"

motd_ssh
customize
cleanup_lxc
