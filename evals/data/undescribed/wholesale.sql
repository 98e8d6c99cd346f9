-- abbreviated names, no description: written for this, of no set
create table emp (
    emp_id integer primary key, fst_nm text, lst_nm text, dept_cd text, hire_dt date, mgr_id integer references emp (emp_id),
    sal_amt real
);
create table cust (
    cust_id integer primary key, cust_nm text, cust_typ_cd text, addr_ln1 text, cty_nm text, zip_cd text, cr_lmt_amt real,
    crt_dt date, slsrep_id integer references emp (emp_id)
);
create table supp (supp_id integer primary key, supp_nm text, ctry_cd text, lead_tm_dys integer);
create table prd (
    prd_id integer primary key, prd_desc text, cat_cd text, unt_prc real, wgt_kg real,
    supp_id integer references supp (supp_id), disc_flg integer
);
create table ord_hdr (
    ord_no integer primary key, cust_id integer references cust (cust_id), ord_dt date, req_dlv_dt date, act_dlv_dt date,
    ord_sts_cd text, shp_mthd text
);
create table ord_ln (
    ord_no integer references ord_hdr (ord_no), ln_no integer, prd_id integer references prd (prd_id), qty integer,
    net_amt real, dsc_pct real, primary key (ord_no, ln_no)
);
create table whs (whs_id integer primary key, whs_nm text, cty_nm text, flr_sqm real);
create table stk (
    whs_id integer references whs (whs_id), prd_id integer references prd (prd_id), oh_qty integer, rsv_qty integer,
    min_qty integer, lst_cnt_dt date
);
create table inv (
    inv_no integer primary key, ord_no integer references ord_hdr (ord_no), inv_dt date, due_dt date, tot_amt real,
    pd_amt real, pd_dt date
);
insert into emp values (1, 'Hanna', 'Brandt', 'SLS', '2009-04-01', null, 7100), (2, 'Laura', 'Stein', 'SLS', '2016-08-15', 1, 4300),
    (3, 'Omar', 'Haddad', 'LOG', '2018-01-08', 1, 3900), (4, 'Petr', 'Dvorak', 'FIN', '2020-10-01', 1, 4600);
insert into supp values (1, 'Iron Works Ltd', 'GB', 14), (2, 'Nordic Tools', 'SE', 21), (3, 'Sun Fasteners', 'PT', 9);
insert into prd values (1, 'cordless drill', 'TOOL', 129.0, 2.4, 2, 0), (2, 'steel bolt M8', 'FAST', 0.3, 0.05, 3, 0),
    (3, 'anvil', 'TOOL', 340.0, 55.0, 1, 1), (4, 'ladder', 'ACC', 89.0, 12.5, 1, 0), (5, 'work gloves', 'ACC', 7.5, 0.2, 3, 0);
insert into whs values (1, 'Harbour Depot', 'Bremen', 4200), (2, 'South Depot', 'Ulm', 2600);
with recursive n (i) as (select 1 union all select i + 1 from n where i < 30)
insert into cust select i, 'Customer ' || i || ' Trading', case i % 3 when 0 then 'RTL' when 1 then 'IND' else 'GOV' end,
    i || ' Mill Road', case i % 4 when 0 then 'Bremen' when 1 then 'Ulm' when 2 then 'Kassel' else 'Jena' end,
    20000 + i, 1000 * (i % 12), date('2015-01-01', (i * 40) || ' days'), 1 + i % 2 from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 150)
insert into ord_hdr select i, 1 + i % 30, date('2024-01-01', i || ' days'), date('2024-01-08', i || ' days'),
    date('2024-01-05', (i + i % 7) || ' days'), case i % 4 when 0 then 'OPEN' when 1 then 'SHIP' else 'DONE' end,
    case i % 2 when 0 then 'truck' else 'parcel' end from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)
insert into ord_ln select 1 + i % 150, i, 1 + i % 5, 1 + i % 20, 10.0 * (1 + i % 40), i % 4 * 2.5 from n;
insert into stk select whs_id, prd_id, 10 * prd_id * whs_id, 12 * prd_id, 15 * prd_id, '2025-01-31' from whs, prd;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 140)
insert into inv select 9000 + i, i, date('2024-01-10', i || ' days'), date('2024-02-10', i || ' days'), 50.0 + i,
    case when i % 5 = 0 then 0 else 50.0 + i end, case when i % 5 = 0 then null else date('2024-02-01', i || ' days') end from n;
