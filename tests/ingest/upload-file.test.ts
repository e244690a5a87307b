import { describe, expect, test } from 'bun:test'
import { fileFormat } from '../../src/reading/file-format.ts'

describe('the format', () => {
  const cases: readonly [string, string | Uint8Array, string][] = [
    ['a.tsv', 'a\tb\n', 'csv'],
    ['a.ndjson', '{}\n{}\n', 'jsonl'],
    ['a.parquet', 'PAR1….', 'parquet'],
    ['wrong.txt', '%PDF-1.7', 'pdf'],
    ['after-a-mark.pdf', '\ufeff\r\n%PDF-1.7', 'pdf'],
    ['no-extension', '<!DOCTYPE html><p>x', 'html'],
    ['no-extension', '[{"a":1}]', 'json'],
    ['no-extension', '{"a":1}\n{"a":2}\n', 'jsonl'],
    ['no-extension', '{"a":\n1}', 'json'],
    ['no-extension', '[draft] some notes', 'text'],
    ['no-extension', 'id;name\n1;"a;b"\n', 'csv'],
    ['program.py', 'def f(x):\n  return x\n', 'code'],
    ['program', '#!/usr/bin/env python3\nprint(1)\n', 'code'],
    ['Makefile', 'all:\n\techo\n', 'code'],
    ['no-extension', 'From: a@b.test\nTo: c@d.test\nSubject: x\n\nHi', 'eml'],
    ['no-extension', 'From a@b.test Thu Jan 1 00:00:00 1970\nFrom: a@b.test\n\nHi', 'mbox'],
    ['no-extension', '{"cells": [],\n"nbformat": 4}', 'ipynb'],
    ['no-extension', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0), 'image'],
    ['wide.txt', Uint8Array.of(0xff, 0xfe, 0x61, 0), 'text'],
  ]
  for (const [name, content, format] of cases) {
    test(`of ${name}: ${format}`, () => {
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
      expect(fileFormat(name, bytes)).toBe(format as ReturnType<typeof fileFormat>)
    })
  }

  const unreadable: readonly [string, RegExp][] = [
    ['II*\0', /picture in a format that is not read; save it as PNG/],
    ['PK\x03\x04\0\0', /ZIP that is cut off or damaged; send it again/],
    ['7z\xbc\xaf\x27\x1c\0', /archive; unpack it/],
    ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0', /save it as DOCX/],
    [
      '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0',
      /locked by a password/,
    ],
  ]
  for (const [content, next] of unreadable) {
    test(`of what cannot be read is none, and says ${next.source}`, () => {
      expect(() => fileFormat('a.docx', Buffer.from(content, 'latin1'))).toThrow(next)
    })
  }

  test('is missing for binary content', () => {
    const bytes = Uint8Array.of(0x50, 0x4b, 0, 4, 0, 0, 0)
    for (const name of ['a.docx', 'a.csv', 'a', 'a.txt']) {
      expect(() => fileFormat(name, bytes)).toThrow(/binary; readable are CSV/)
    }
  })
})
