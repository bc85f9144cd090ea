"""SharePoint Online as a source: files, pages and lists through Graph, and who may read them through SharePoint's REST.

What is not known to be readable is readable by nobody: an answer that is missing, partial, refused or malformed is
never taken for "no restriction", and a change of rights closes before it opens.
"""
