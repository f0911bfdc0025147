#!/bin/bash

_install_waypost() {
    ynh_exec_as_app python3 -m venv "$install_dir/venv"
    ynh_hide_warnings ynh_exec_as_app "$install_dir/venv/bin/pip" install --no-cache-dir --upgrade \
        "waypost==$(ynh_app_upstream_version)"
}

_configure_system() {
    ynh_config_add_nginx
    ynh_config_add_systemd
    yunohost service add "$app" --description="Short links"
}

_start_waypost() {
    ynh_systemctl --service="$app" --action="start" --wait_until="processes started"
}
