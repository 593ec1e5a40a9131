import Logging

/// Sets up logging for the whole process.
enum Logs {
  /// - Parameter usual: the level where the settings give none: a hub tells more than a tool does.
  static func start(_ settings: Settings, usual: Logger.Level = .error) {
    start(settings.logFormat, settings.logLevel ?? usual)
  }

  static func start(_ format: Settings.LogFormat, _ level: Logger.Level) {
    let form: LineLogHandler.Form =
      switch format {
      case .json: .json
      case .text: .text
      case .auto: StandardStream.error.isTerminal ? .text : .json
      }
    LoggingSystem.bootstrap { LineLogHandler(label: $0, form: form, level: level) }
  }
}
