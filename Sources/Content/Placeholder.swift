enum ContentPlaceholder {}
