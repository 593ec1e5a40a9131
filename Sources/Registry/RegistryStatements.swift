package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum RegistryStatements {
  package static let all: [Statement] =
    CustomerQueries.all + AccessKeyQueries.all + PushAppQueries.all + ContactListQueries.all + HubSecretQueries.all
    + RekeyQueries.all + AuditQueries.all + IdempotentReplyQueries.all + NotificationQueries.all + AudienceQueries.all
    + ContactQueries.all + RegisterQueries.all + DeviceQueries.all
}
