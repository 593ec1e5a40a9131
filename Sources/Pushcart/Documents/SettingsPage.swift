/// `docs/settings.md`: every setting, with the text of its help.
enum SettingsPage {
  static var text: String {
    """
    # Settings

    \(Document.note)

    Two settings are needed: `\(Setting.databaseURL.variable)` and `\(Setting.masterKey.variable)`. All others have a default, or are off.

    A setting is a flag such as `--\(Setting.port.name)`, an environment variable, or a key of the JSON file that \
    `\(Setting.config.variable)` names, as in `{"\(Setting.port.name)": 8080}`. The first of these decides. The flag and the key \
    have the variable's name without `PUSHCART_`, in lower case and with hyphens. An empty variable counts as absent. A key of \
    the file that is no setting is refused; a variable that is none gets a warning.

    The values of \(Setting.fileable.map { "`\($0.variable)`" }.joined(separator: ", ")) can be in files: a variable whose name \
    ends with `_FILE` names one, and so does a flag that ends with `-file`. Every user of the machine can read flags. So the \
    master keys have none, and a password in `--\(Setting.databaseURL.name)` is refused.

    The hub reads its settings once, when it starts. Everything missing or wrong is reported together, by name and never by value. \
    [`pushcart check`](cli.md#pushcart-check) compares them with the database and the push services. It changes nothing.

    Commands that name no database use the [demo](getting-started.md#the-demos-folder) of their folder, and say so.

    \(Markdown.table(["Variable", "What it is", "Default"], rows))

    """
  }

  private static var rows: [[String]] {
    Setting.all.map { setting in
      let fallback = setting.fallback?.split(separator: "; tools: ").map { "`\($0)`" }.joined(separator: "; tools: ")
      return ["`\(setting.variable)`", Markdown.escaped(setting.help), fallback ?? "–"]
    }
  }
}
