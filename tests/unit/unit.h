// The main() of a unit test: one suite, a table of tests, exit status 1 when one fails.
//
// A test file defines `static const CU_TestInfo tests[]`, ended by CU_TEST_INFO_NULL, and says
// UNIT_MAIN("name"). Runs on one thread, without EAL.

#pragma once

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

#define UNIT_MAIN(suite_name)                                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		CU_SuiteInfo suites[] = {{suite_name, NULL, NULL, NULL, NULL, tests},              \
					 CU_SUITE_INFO_NULL};                                      \
		if (CU_initialize_registry() != CUE_SUCCESS ||                                     \
		    CU_register_suites(suites) != CUE_SUCCESS)                                     \
			return 2;                                                                  \
		CU_basic_set_mode(CU_BRM_NORMAL);                                                  \
		CU_basic_run_tests();                                                              \
		unsigned bad = CU_get_number_of_failures() + CU_get_number_of_tests_failed();      \
		unsigned ran = CU_get_number_of_tests_run();                                       \
		CU_cleanup_registry();                                                             \
		return bad || !ran;                                                                \
	}
