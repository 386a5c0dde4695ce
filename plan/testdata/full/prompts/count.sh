---
# <!-- stays -->
echo <%CODON_ID% # <%DATA_DIR%>
