/// What a request may weigh.
public enum Limits {
  /// Bytes of a body, unless a route says otherwise.
  public static let body = 64 * 1024
  /// Depth of nested arrays and objects in a JSON body.
  public static let depth = 32
}
