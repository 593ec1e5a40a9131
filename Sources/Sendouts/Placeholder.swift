enum SendoutsPlaceholder {}
