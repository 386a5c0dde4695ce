#!/bin/sh
echo template
