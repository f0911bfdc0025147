#!/usr/bin/env bash
source <(curl -fsSL https://raw.githubusercontent.com/community-scripts/ProxmoxVE/main/misc/build.func)
# Copyright (c) 2021-2026 community-scripts ORG
# Author: waypost
# License: MIT | https://github.com/community-scripts/ProxmoxVE/raw/main/LICENSE
# Source: https://waypost.github.io/waypost/ | Github: https://github.com/waypost/waypost

APP="Waypost"
var_tags="${var_tags:-links;marketing}"
var_cpu="${var_cpu:-1}"
var_ram="${var_ram:-512}"
var_disk="${var_disk:-4}"
var_os="${var_os:-debian}"
var_version="${var_version:-13}"
var_unprivileged="${var_unprivileged:-1}"

header_info "$APP"
variables
color
catch_errors

function update_script() {
  header_info
  check_container_storage
  check_container_resources

  if [[ ! -d /usr/lib/waypost ]]; then
    msg_error "No ${APP} Installation Found!"
    exit
  fi

  if check_for_gh_release "waypost" "waypost/waypost"; then
    msg_info "Backing up Data"
    rm -f /var/lib/waypost/before-update.new.tar.gz
    waypost backup /var/lib/waypost/before-update.new.tar.gz
    mv /var/lib/waypost/before-update.new.tar.gz /var/lib/waypost/before-update.tar.gz
    msg_ok "Backed up Data"

    DPKG_FORCE_CONFOLD=1 fetch_and_deploy_gh_release "waypost" "waypost/waypost" "binary" "latest" "/opt/waypost" "waypost_*deb13_$(dpkg --print-architecture).deb"
    msg_ok "Updated successfully!"
  fi
  exit
}

start
build_container
description

msg_ok "Completed Successfully!\n"
echo -e "${CREATING}${GN}${APP} setup has been successfully initialized!${CL}"
echo -e "${INFO}${YW} Access it using the following URL, which contains the set-up code:${CL}"
echo -e "${TAB}${GATEWAY}${BGN}$(pct exec "$CTID" -- journalctl --unit waypost --output cat | grep -o 'http://[^ ]*/setup?code=[^ ]*' | tail -1)${CL}"
