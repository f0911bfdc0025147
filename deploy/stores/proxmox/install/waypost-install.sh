#!/usr/bin/env bash

# Copyright (c) 2021-2026 community-scripts ORG
# Author: waypost
# License: MIT | https://github.com/community-scripts/ProxmoxVE/raw/main/LICENSE
# Source: https://waypost.github.io/waypost/ | Github: https://github.com/waypost/waypost

source /dev/stdin <<<"$FUNCTIONS_FILE_PATH"
color
verb_ip6
catch_errors
setting_up_container
network_check
update_os

fetch_and_deploy_gh_release "waypost" "waypost/waypost" "binary" "latest" "/opt/waypost" "waypost_*deb13_$(dpkg --print-architecture).deb"
import_local_ip

msg_info "Configuring Waypost"
cat <<EOF >/etc/waypost/waypost.env
WAYPOST_BASE_URL=http://${LOCAL_IP}:8000
WAYPOST_SIGNUP=invite
EOF
mkdir -p /etc/systemd/system/waypost.service.d
cat <<EOF >/etc/systemd/system/waypost.service.d/host.conf
[Service]
ExecStart=
ExecStart=/usr/lib/waypost/bin/waypost serve --host 0.0.0.0 --port 8000
EOF
msg_ok "Configured Waypost"

msg_info "Starting Service"
systemctl daemon-reload
systemctl enable -q waypost
systemctl restart waypost
msg_ok "Started Service"

motd_ssh
customize
cleanup_lxc
