// Package postgres tests the store on a real PostgreSQL.
package postgres
