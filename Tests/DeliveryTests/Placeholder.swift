import Testing

@Suite struct DeliveryPlaceholder {}
