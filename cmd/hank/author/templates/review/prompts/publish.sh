echo "The code is published."
