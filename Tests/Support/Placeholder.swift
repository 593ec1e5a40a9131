enum SupportPlaceholder {}
