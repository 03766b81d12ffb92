import { describe, expect, test } from "vitest";
import { isTestPath, pathKind } from "../../src/core/project-path.ts";

describe("isTestPath", () => {
	test.each([
		...["a.test.ts", "src/a.spec.tsx", "a.e2e-spec.ts", "a.cy.js", "a.test-d.ts", "src/a_test.ts"],
		...["a.test.helpers.ts", "src/__tests__/a.ts", "test/a.ts", "packages/p/tests/deep/a.js"],
		...["e2e/login.ts", "cypress/support/commands.js", "src/__mocks__/fs.js", "test.js"],
		...["integration-tests/a.ts", "src/a.integration.test.mts", "test-utils/render.tsx"],
	])("%s is a test", (path) => {
		expect(isTestPath(path)).toBe(true);
	});

	test.each([
		...["src/inspector.ts", "src/latest.ts", "vitest.config.ts", "jest.config.js", "src/test.ts"],
		...["src/contest/a.ts", "src/testing.ts", "src/specification.ts", "src/attestation/x.ts"],
		...["src/spec/openapi.ts", "cypress.config.ts", "src/protest.ts", "a.test.config.ts"],
		...["packages/testing/src/a.ts", "src/respect.ts", "src/commands/test.ts"],
	])("%s is none", (path) => {
		expect(isTestPath(path)).toBe(false);
	});
});

describe("pathKind", () => {
	test.each([
		["a.ts", "source"],
		["a/b.d.mts", "source"],
		["a.ts.map", "other"],
		["ats", "other"],
		["a/tsconfig.json", "config"],
		["tsconfig.base.json", "config"],
		["tsconfig-esm.json", "config"],
		["jsconfig.json", "config"],
		["mytsconfig.json", "text"],
		["docs/a.md", "text"],
		[".github/workflows/ci.yml", "text"],
		[".env", "other"],
		["a.png", "other"],
		["a/package.json", "config"],
		["package-lock.json", "other"],
		["pnpm-workspace.yaml", "config"],
	])("%s is %s", (path, kind) => {
		expect(pathKind(path)).toBe(kind);
	});
});
