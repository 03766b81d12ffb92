export { createResolver } from "../c/resolver.ts";
