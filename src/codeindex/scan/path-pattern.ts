import { type NamePattern, parseNamePattern } from "./name-pattern.ts";

export { matchesAll as matchesPath } from "../../text/wildcard.ts";

/** `**` matches any number of names; `*` and `?` stay within one. */
export type PathPattern = readonly ("**" | NamePattern)[];

export function parsePathPattern(pattern: string): PathPattern {
	return pathPatternOf(pattern.split("/").filter((part) => part !== "" && part !== "."));
}

export function pathPatternOf(parts: readonly string[]): PathPattern {
	return parts.map((part) => (part === "**" ? part : parseNamePattern(part)));
}
