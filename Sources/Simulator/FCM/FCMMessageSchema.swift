/// The type of a field of `messages:send`, as its JSON can be written.
indirect enum FCMField: Sendable {
  case string
  case bool
  case integer
  case number
  /// `#rrggbb`.
  case color
  /// Seconds with an `s`, as in `3.5s`.
  case duration
  /// RFC 3339.
  case timestamp
  /// One of these words, in upper or lower case, of an enum of that name.
  case choice(String, [String])
  case list(FCMField)
  /// An object whose keys are free and whose values are strings.
  case texts
  /// An object of any content.
  case object
  case message([String: FCMField])
}

/// The body of `messages:send` (FCM's reference, REST resource `projects.messages`). Names are in snake_case.
enum FCMMessageSchema {
  static let body = FCMField.message(["validate_only": .bool, "message": .message(message)])

  /// The fields of which exactly one says where a message goes.
  static let targets = ["token", "topic", "condition", "fid"]

  private static let message: [String: FCMField] = [
    "name": .string, "token": .string, "topic": .string, "condition": .string, "fid": .string,
    "data": .texts,
    "notification": .message(["title": .string, "body": .string, "image": .string]),
    "fcm_options": .message(options),
    "android": .message(android),
    "apns": .message([
      "headers": .texts, "payload": .object, "live_activity_token": .string,
      "fcm_options": .message(["analytics_label": .string, "image": .string]),
    ]),
    "webpush": .message([
      "headers": .texts, "data": .texts, "notification": .object,
      "fcm_options": .message(["analytics_label": .string, "link": .string]),
    ]),
  ]

  private static let options: [String: FCMField] = ["analytics_label": .string]

  private static let android: [String: FCMField] = [
    "collapse_key": .string, "priority": .choice("AndroidMessagePriority", ["NORMAL", "HIGH"]), "ttl": .duration,
    "restricted_package_name": .string, "data": .texts, "notification": .message(androidNotification),
    "fcm_options": .message(options), "direct_boot_ok": .bool, "bandwidth_constrained_ok": .bool,
    "restricted_satellite_ok": .bool,
  ]

  private static let androidNotification: [String: FCMField] = [
    "title": .string, "body": .string, "icon": .string, "color": .color, "sound": .string, "tag": .string,
    "click_action": .string, "body_loc_key": .string, "body_loc_args": .list(.string), "title_loc_key": .string,
    "title_loc_args": .list(.string), "channel_id": .string, "ticker": .string, "sticky": .bool,
    "event_time": .timestamp, "local_only": .bool,
    "notification_priority": .choice(
      "NotificationPriority",
      [
        "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
      ]),
    "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
    "vibrate_timings": .list(.duration),
    "visibility": .choice("Visibility", ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
    "notification_count": .integer, "image": .string, "bypass_proxy_notification": .bool,
    "proxy": .choice("Proxy", ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    "light_settings": .message([
      "color": .message(["red": .number, "green": .number, "blue": .number, "alpha": .number]),
      "light_on_duration": .duration, "light_off_duration": .duration,
    ]),
  ]
}
