/// What statements of other rooms may ask of a device of the customer `$1`. All arguments are SQL.
package enum DeviceCondition {
  /// Whether it is that contact's now.
  package static func isHeld(_ device: String, by contact: String) -> String {
    """
    EXISTS (SELECT FROM device
             WHERE device.customer_id = $1::bigint AND device.device_id = \(device) AND device.contact_id = \(contact))
    """
  }

  /// Whether it is one of APNs' sandbox, or of production.
  package static func isOf(_ device: String, sandbox: String) -> String {
    """
    EXISTS (SELECT FROM device
             WHERE device.customer_id = $1::bigint AND device.device_id = \(device) AND device.sandbox = \(sandbox))
    """
  }
}
