/** Drizzle tables for keys, users and the audit log. */
import { integer, text, timestamp } from 'drizzle-orm/pg-core'
import type { PrincipalKind, Role, Scope } from '../../core/domain/access/principal.ts'
import { count, eider, json, moment } from '../catalog/schema.ts'

export const accessKeys = eider.table('access_keys', {
  id: integer('id').notNull(),
  name: text('name').notNull(),
  prefix: text('prefix').notNull(),
  hash: text('hash').notNull(),
  scopes: json<readonly Scope[]>('scopes').notNull(),
  namespaces: json<readonly string[]>('namespaces'),
  requestsPerMinute: integer('requests_per_minute'),
  createdBy: text('created_by').notNull(),
  createdAt: moment('created_at'),
  expiresAt: timestamp('expires_at', { precision: 6, mode: 'string' }),
})

export const accessKeyUses = eider.table('access_key_uses', {
  keyId: integer('key_id').notNull(),
  lastUsedAt: moment('last_used_at'),
})

export const users = eider.table('users', {
  id: integer('id').notNull(),
  name: text('name').notNull(),
  passwordHash: text('password_hash').notNull(),
  role: text('role').$type<Role>().notNull(),
  namespaces: json<readonly string[]>('namespaces'),
  createdBy: text('created_by').notNull(),
  createdAt: moment('created_at'),
  updatedAt: moment('updated_at'),
})

export const auditLog = eider.table('audit_log', {
  number: count('number'),
  happenedAt: moment('happened_at'),
  principalKind: text('principal_kind').$type<PrincipalKind>().notNull(),
  principalId: text('principal_id').notNull(),
  principalName: text('principal_name').notNull(),
  action: text('action').notNull(),
  targets: json<readonly string[]>('targets').notNull(),
  outcome: text('outcome').notNull(),
  address: text('address').notNull(),
  requestId: text('request_id').notNull(),
  occurrences: count('occurrences'),
  skippedRows: count('skipped_rows'),
})
