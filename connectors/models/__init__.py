"""One file a vendor of models; `local` needs none."""
