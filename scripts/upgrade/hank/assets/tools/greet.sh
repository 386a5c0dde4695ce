echo "hello from the rig"
