/// SQL that says whose a device is, for statements of other rooms to ask.
package enum DeviceOwnership {
  /// Whether a device of the customer `$1` is that contact's now; `device` and `contact` are SQL.
  package static func isHeld(_ device: String, by contact: String) -> String {
    """
    EXISTS (SELECT FROM device
             WHERE device.customer_id = $1::bigint AND device.device_id = \(device) AND device.contact_id = \(contact))
    """
  }
}
