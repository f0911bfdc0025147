# For boot and container: Waypost in /opt/waypost, with this repository's code and packages.

# install_waypost ROOT PYTHON
install_waypost() {
	rm -rf "$1/opt/waypost"
	"$2" -m venv --without-pip "$1/opt/waypost"
	mkdir "$1"/opt/waypost/{source,packages}
	printf '/opt/waypost/source\n/opt/waypost/packages\n' > "$(echo "$1"/opt/waypost/lib/*/site-packages)/waypost.pth"
	cat > "$1/opt/waypost/bin/waypost" <<-'END'
		#!/opt/waypost/bin/python
		from waypost.cli import main
		main()
	END
	chmod +x "$1/opt/waypost/bin/waypost"
}

# mount_waypost ROOT REPOSITORY PACKAGES
mount_waypost() {
	mount --bind "$2/src" "$1/opt/waypost/source"
	mount --bind "$3" "$1/opt/waypost/packages"
}
