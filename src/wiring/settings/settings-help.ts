/** Shows all settings with their defaults and current values. */

import type { Setting } from './setting-values.ts'
import { SETTINGS, type Settings } from './settings.ts'

/** The most important settings, in the order in which people need them. */
const FIRST: readonly string[] = [
  ...['EIDER_PORT', 'EIDER_HOST', 'EIDER_DATA_DIR', 'EIDER_USERNAME', 'EIDER_PASSWORD'],
  ...['EIDER_CHAT_PROVIDER', 'EIDER_CHAT_MODEL', 'EIDER_CHAT_API_KEY'],
  ...['EIDER_BACKUP_SCHEDULE', 'EIDER_MEMORY_LIMIT'],
]

/** A setting belongs to the first group whose pattern matches its name. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ['Network', /^EIDER_(PG_|ALLOW_OPEN|CRAWL|NETWORK)/],
  ['Logins, keys and the audit log', /^EIDER_(TOKEN|KEY_|URL_KEYS|AUDIT)/],
  ['Folders and backups', /^EIDER_(\w+_DIR|BACKUP|DISK|EXTENSION)/],
  ['Agents', /^EIDER_(AGENT|CHAT|CONVERSATION|OBSERVATION)/],
  ['Models', /^EIDER_(OCR|MODEL)|^[A-Z]+_(API_KEY|BASE_URL)$/],
  ['Jobs and schedules', /^EIDER_(JOBS|SCHEDULE|INSERT)/],
  ['Logs, traces and metrics', /^EIDER_(LOG|TRACES|METRICS)|^OTEL_/],
  ['Limits', /./],
]

export function settingsHelp(): string {
  const all: readonly Setting<unknown>[] = Object.values(SETTINGS)
  const first = FIRST.flatMap((name) => all.filter((one) => one.name === name))
  const others = all.filter(({ name }) => !FIRST.includes(name))
  const groupOf = ({ name }: Setting<unknown>) => GROUPS.find(([, names]) => names.test(name))
  const groups = GROUPS.map((group) => {
    return [group[0], others.filter((one) => groupOf(one) === group)] as const
  })
  return [['First', first] as const, ...groups]
    .map(([title, settings]) => [`${title}:`, ...settings.map(settingLine)].join('\n'))
    .join('\n\n')
}

function settingLine({ name, help, default: usual }: Setting<unknown>): string {
  return `  ${name.padEnd(28)} ${help} (${usual === '' ? 'not set' : usual})`
}

export function shownSettings(settings: Settings) {
  return Object.entries(SETTINGS).map(([key, one]) => {
    // Both objects have the same keys.
    const text = settingText(settings[key as keyof Settings], one.default)
    const isSet = text !== ''
    return {
      name: one.name,
      value: isSet && !one.isSecret ? withoutPassword(text) : null,
      default: usualText(one),
      meaning: one.help,
      ...{ isSecret: one.isSecret, isSet },
    }
  })
}

/** Formats the default like a set value, so that a size of 0 is `0MB` in both cases. */
function usualText(one: Setting<unknown>): string | null {
  const text = one.isSecret ? '' : settingText(one.parse(one.default), one.default)
  return text === '' ? null : text
}

/** @param usual the default, which shows whether a flag is written as `true` or `1` */
function settingText(value: unknown, usual: string): string {
  if (value === undefined) return ''
  if (typeof value === 'boolean') return usual === 'false' ? String(value) : value ? '1' : '0'
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.join(',')
  }
  const isEmpty = value === null || Object.keys(value).length === 0
  return isEmpty ? '' : JSON.stringify(value)
}

/** Removes the login and the query string of a URL, which may contain a key. */
function withoutPassword(text: string): string {
  return text.replace(/:\/\/[^/\s]*@/g, '://…@').replace(/^(https?:[^?#]*)[?#].*/i, '$1?…')
}
